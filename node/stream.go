package node

import "stele/node/blockfile"

// drink takes the blocks of a stream, batch after batch.
func (m *writer) drink(s *blockfile.Stream) error {
	f := newFeed(s, m.o.limits)
	defer f.halt()
	for {
		b, more := f.take(m.ctx.Done())
		m.watch.lap(stageWait)
		var err error
		switch {
		case b != nil:
			m.batch = b
			err = m.drinkBatch(b)
			f.give(b)
		case more:
			err = m.tell(0)
		}
		if err != nil {
			return err
		}
		if more {
			continue
		}
		ended, err := f.close()
		if ended {
			m.readCounts()
		}
		if m.stopped() {
			return errStopped
		}
		return err
	}
}

func (m *writer) drinkBatch(b *batch) error {
	for i := range b.items {
		one := &b.items[i]
		if !one.damaged {
			if err := m.record(&one.header, blockfile.Place{File: inBatch, Off: one.off, Len: one.size}); err != nil {
				return err
			}
			continue
		}
		if err := m.damaged(one); err != nil {
			return err
		}
	}
	m.watch.lap(stageIndex)
	return m.settle()
}

// damaged puts a record of a stream that is no block on record. If it has a header, that counts as one in a file does.
func (m *writer) damaged(one *item) error {
	m.report.Records++
	if !one.headed {
		m.report.reject(nil, -1, reasonEncoding)
		return nil
	}
	hash := one.header.Hash()
	f, err := m.take(&one.header, &hash, m.bodies.add(blockfile.Place{File: gone}))
	switch f {
	case refused:
	case derived:
		m.report.Descendants++
	default:
		m.report.reject(&hash, m.tree.heightUnder(&one.header.Prev), reasonEncoding)
	}
	return err
}
