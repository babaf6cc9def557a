package chain

// ageBounds are the greatest ages, in blocks, of Stats.Ages but the last: the block's own, the next, an hour, a day, a
// fortnight, a month.
var ageBounds = [...]uint32{0, 1, 6, 144, 2016, 4320}

const oldAge = 100 // blocks: see Stats.Old

// Stats count what was made. Those of ordinary transactions leave out coinbases and fan-outs.
type Stats struct {
	Bytes              uint64 // of blocks, stale ones too
	Coinbases, FanOuts uint64
	Txs, Ins, Outs     uint64 // ordinary
	Own                uint64 // inputs that spend an output of their own block
	Old                uint64 // inputs that spend an output more than a hundred blocks old
	Locked             uint64 // transactions with a lock time, fan-outs too
	Stale              uint64 // blocks off the chain

	OutKinds, InKinds [Kinds]uint64              // ordinary
	Ages              [len(ageBounds) + 1]uint64 // inputs by the age of what they spend, in the spans of AgeSpans
	MaxIns, MaxOuts   uint64                     // of one ordinary transaction
	Small             uint64                     // outputs of less than a thousand satoshis that can be spent
}

// AgeSpans name the spans of Stats.Ages.
func AgeSpans() [len(ageBounds) + 1]string {
	return [...]string{"own block", "1 block", "2-6", "7-144", "145-2016", "2017-4320", "older"}
}

// ordinary counts a transaction.
func (s *Stats) ordinary(height uint32, ins []spend, outs []paying) {
	s.Txs++
	s.Ins += uint64(len(ins))
	s.Outs += uint64(len(outs))
	s.MaxIns = max(s.MaxIns, uint64(len(ins)))
	s.MaxOuts = max(s.MaxOuts, uint64(len(outs)))
	for i := range ins {
		s.InKinds[ins[i].kind]++
		age, span := height-ins[i].born, 0
		for span < len(ageBounds) && age > ageBounds[span] {
			span++
		}
		s.Ages[span]++
		if age > oldAge {
			s.Old++
		}
	}
	s.Own = s.Ages[0]
	for i := range outs {
		s.OutKinds[outs[i].kind]++
		if outs[i].kind != Data && outs[i].value < smallAmount {
			s.Small++
		}
	}
}
