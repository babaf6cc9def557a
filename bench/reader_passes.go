package bench

import "encoding/binary"

// Both passes do the same, row by row and field by field. For every transaction of a block: its row; for each of its
// inputs the spend, the point, the parent's row by its txid, the parent's strong row and the header that it names, and
// all spends of the same outpoint. They return a sum of what they read, which must be the same, or *badSpend.

// confirmPointers confirms a block; rows are read in place.
func (o *original) confirmPointers(b int) (sum uint64, err error) {
	for tx := o.t.start(b); tx < o.t.ends[b]; tx++ {
		row := o.txs[int(tx)*txRowWidth:]
		ins, first := get24(row[txRowCounts:]), link40(row[txRowCounts+6:])
		for i := first; i < first+uint64(ins); i++ {
			n := binary.LittleEndian.Uint32(o.puts[i*putWidth:])
			spend := o.rows[int(n)*spendWidth:]
			k := spendRowKey(spend)
			sum += k + uint64(binary.LittleEndian.Uint32(spend[spendSequence:]))
			parent, ok := o.findTx(o.points.txid(uint32(k)))
			if !ok {
				return 0, &badSpend{uint32(i)}
			}
			of := o.txs[int(parent)*txRowWidth:]
			sum += uint64(of[txRowFlags])
			if in, ok := o.strongIn(parent); ok {
				header := o.headers[int(in)*headerWidth:]
				sum += uint64(get24(header[headerPlace:])) + uint64(binary.LittleEndian.Uint32(header[headerPlace+3:]))
			} else if parent < o.t.start(b) || parent >= tx {
				return 0, &badSpend{uint32(i)}
			}
			if get24(of[txRowCounts+3:]) <= uint32(k>>32) || o.spentBefore(k, n, b) {
				return 0, &badSpend{uint32(i)}
			}
		}
	}
	return sum, nil
}

func (o *original) findTx(txid *key) (uint32, bool) {
	for at := o.txHeads[truncate(txid)%uint64(len(o.txHeads))]; at != 0; {
		row := o.txs[int(at-1)*txRowWidth:]
		if key(row[txRowKey:]) == *txid {
			return at - 1, true
		}
		at = binary.LittleEndian.Uint32(row)
	}
	return 0, false
}

// strongIn returns the block that makes a transaction strong.
func (o *original) strongIn(tx uint32) (block uint32, ok bool) {
	for at := o.marks[int(tx)%len(o.marks)]; at != 0; {
		row := o.strongTx[int(at-1)*strongWidth:]
		if binary.LittleEndian.Uint32(row[4:]) == tx {
			return get24(row[8:]), true
		}
		at = binary.LittleEndian.Uint32(row)
	}
	return 0, false
}

// spentBefore looks for a spend of an outpoint that is older than row own, and strong or of the block in hand.
func (o *original) spentBefore(k uint64, own uint32, b int) bool {
	for at := o.heads[k%uint64(len(o.heads))]; at != 0; {
		row := o.rows[int(at-1)*spendWidth:]
		if spendRowKey(row) == k && at-1 < own {
			by := binary.LittleEndian.Uint32(row[spendSpender:])
			if _, strong := o.strongIn(by); strong || by >= o.t.start(b) {
				return true
			}
		}
		at = binary.LittleEndian.Uint32(row)
	}
	return false
}

// opener begins to read a row of a table.
type opener func(rows []byte, at int) *rowStream

// confirmStreams confirms a block; rows are read through streams.
func (o *original) confirmStreams(b int, open opener) (sum uint64, err error) {
	for tx := o.t.start(b); tx < o.t.ends[b]; tx++ {
		row := open(o.txs, int(tx)*txRowWidth)
		row.skip(txRowCounts)
		ins := row.number24()
		row.skip(3)
		first := row.number40()
		for i := first; i < first+uint64(ins); i++ {
			n := open(o.puts, int(i)*putWidth).number32()
			spend := open(o.rows, int(n)*spendWidth)
			spend.skip(spendKey)
			k := spend.number56()
			spend.skip(spendSequence - spendSpender)
			sum += k + uint64(spend.number32())
			point := open(o.points.rows, int(uint32(k))*pointWidth)
			point.skip(4)
			txid := point.hash()
			parent, ok := o.streamTx(&txid, open)
			if !ok {
				return 0, &badSpend{uint32(i)}
			}
			of := open(o.txs, int(parent)*txRowWidth)
			of.skip(txRowFlags)
			sum += uint64(of.number8())
			of.skip(txRowCounts + 3 - txRowFlags - 1)
			outs := of.number24()
			if in, ok := o.streamStrong(parent, open); ok {
				header := open(o.headers, int(in)*headerWidth)
				header.skip(headerPlace)
				sum += uint64(header.number24())
				sum += uint64(header.number32())
			} else if parent < o.t.start(b) || parent >= tx {
				return 0, &badSpend{uint32(i)}
			}
			if outs <= uint32(k>>32) || o.streamSpends(k, n, b, open) {
				return 0, &badSpend{uint32(i)}
			}
		}
	}
	return sum, nil
}

func (o *original) streamTx(txid *key, open opener) (uint32, bool) {
	for at := o.txHeads[truncate(txid)%uint64(len(o.txHeads))]; at != 0; {
		row := open(o.txs, int(at-1)*txRowWidth)
		next := row.number32()
		if row.hash() == *txid {
			return at - 1, true
		}
		at = next
	}
	return 0, false
}

func (o *original) streamStrong(tx uint32, open opener) (block uint32, ok bool) {
	for at := o.marks[int(tx)%len(o.marks)]; at != 0; {
		row := open(o.strongTx, int(at-1)*strongWidth)
		next := row.number32()
		if row.number32() == tx {
			return row.number24(), true
		}
		at = next
	}
	return 0, false
}

func (o *original) streamSpends(k uint64, own uint32, b int, open opener) bool {
	for at := o.heads[k%uint64(len(o.heads))]; at != 0; {
		row := open(o.rows, int(at-1)*spendWidth)
		next := row.number32()
		if row.number56() == k && at-1 < own {
			by := row.number32()
			if _, strong := o.streamStrong(by, open); strong || by >= o.t.start(b) {
				return true
			}
		}
		at = next
	}
	return false
}
