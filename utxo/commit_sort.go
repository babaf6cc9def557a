package utxo

import "slices"

// event is a spend or a made transaction of the window.
type event struct {
	hash  uint64 // of its txid
	block uint32
	at    uint32 // in Spends, or in Made
}

// sorting is events by shard, and there in their order: those of shard i are all[start[i]:start[i+1]].
type sorting struct {
	start [shards + 1]uint32
	all   []event
}

func (s *sorting) of(shard int) []event { return s.all[s.start[shard]:s.start[shard+1]] }

// sort gives every worker a run of blocks, to count and then to place, and makes their undo data ready.
func (s *Set) sort(workers []worker) {
	eachWorker(workers, (*worker).countShards)
	c := &s.commit
	c.spends.layOut(workers, 0)
	c.made.layOut(workers, 1)
	eachWorker(workers, (*worker).place)
}

// layOut makes counts of the workers places of theirs.
func (s *sorting) layOut(workers []worker, kind int) {
	n := uint32(0)
	for i := range shards {
		s.start[i] = n
		for k := range workers {
			count := &workers[k].count[kind][i]
			n, *count = n+*count, n
		}
	}
	s.start[shards] = n
	s.all = slices.Grow(s.all[:0], int(n))[:n]
}

// blockRun returns which blocks of the window a worker sorts.
func (w *worker) blockRun() (from, to int) {
	n := len(w.blocks)
	return n * w.id / w.team, n * (w.id + 1) / w.team
}

func (w *worker) countShards() {
	w.count = [2][shards]uint32{}
	from, to := w.blockRun()
	for i := from; i < to; i++ {
		b, u := w.blocks[i], w.undos[i]
		u.reset(b, w.team)
		for k := range b.Spends {
			w.count[0][b.Spends[k].Txid[0]]++
		}
		for k := range b.Made {
			m := &b.Made[k]
			w.count[1][m.Txid[0]]++
			u.made[k] = madeTrace{m.Txid, uint32(len(m.Outs))}
		}
	}
}

func (w *worker) place() {
	from, to := w.blockRun()
	c := &w.s.commit
	for i := from; i < to; i++ {
		b := w.blocks[i]
		for k := range b.Spends {
			txid := &b.Spends[k].Txid
			at := &w.count[0][txid[0]]
			c.spends.all[*at] = event{hashOf(txid, w.s.salt), uint32(i), uint32(k)}
			*at++
		}
		for k := range b.Made {
			txid := &b.Made[k].Txid
			at := &w.count[1][txid[0]]
			c.made.all[*at] = event{hashOf(txid, w.s.salt), uint32(i), uint32(k)}
			*at++
		}
	}
}
