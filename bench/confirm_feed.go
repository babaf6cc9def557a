package bench

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	gen "stele/bench/chain"
	"stele/chain"
	"stele/tables"
	"stele/tables/confirm"
	"stele/validate"
)

// medianBlocks is how many blocks a median time is taken over.
const medianBlocks = 11

// prepared is a block on its way into a store: all of it that depends on no other block but its header's.
type prepared struct {
	raw    []byte
	hash   chain.Hash
	block  chain.Block
	txids  []chain.Hash
	place  validate.Place
	mtp    uint32
	rows   tables.Rows
	work   confirm.Work
	inputs int // but the coinbase's

	scratch validate.Scratch
}

// prepare decodes the block, checks and accepts it, and encodes its rows.
func (p *prepared) prepare(params *chain.Params) error {
	if err := p.block.Decode(p.raw); err != nil {
		return err
	}
	p.txids = p.block.Txids(p.txids[:0])
	v := validate.Check(params, &p.block, p.txids, &p.scratch)
	if v.OK() {
		v = validate.Accept(&p.place, &p.block, p.txids, &p.scratch)
	}
	if !v.OK() {
		return errors.New("a block of the generator breaks a rule: " + v.String())
	}
	p.inputs = len(p.block.Ins) - int(p.block.Txs[0].Ins)
	return p.rows.Encode(&p.block, p.txids)
}

// todo readies the block's Work for a store, in which its header is l.
func (p *prepared) todo(w *confirm.Work, l tables.HeaderLink) {
	w.Link, w.Block, w.Txids, w.Place, w.MTP = l, &p.block, p.txids, p.place, p.mtp
	w.Archived = false
}

// headerFeed makes the blocks of a chain, and knows of each where it stands.
type headerFeed struct {
	params *chain.Params
	source *gen.Source
	made   gen.Block
	times  []uint32 // of the last blocks
	parent validate.Parent
}

func newHeaderFeed(c gen.Options) (*headerFeed, error) {
	g, err := gen.New(c)
	if err != nil {
		return nil, err
	}
	p := chain.Regtest()
	genesis, err := chain.ParseHeader(p.GenesisBlock)
	if err != nil {
		return nil, err
	}
	return &headerFeed{
		params: p, source: g, times: []uint32{genesis.Time}, parent: validate.Parent{MTP: genesis.Time},
	}, nil
}

// next makes a block: its bytes, its place, the median time past with its own. False where there is none left.
func (f *headerFeed) next(p *prepared) (bool, error) {
	if !f.source.Next(&f.made) {
		return false, nil
	}
	p.raw, p.hash = append(p.raw[:0], f.made.Raw...), f.made.Hash
	h, err := chain.ParseHeader(p.raw)
	if err != nil {
		return false, err
	}
	p.place = validate.NewPlace(f.params, &h, &p.hash, f.parent)
	f.times = append(f.times, h.Time)
	f.times = f.times[max(0, len(f.times)-medianBlocks):]
	p.mtp = validate.MTP(slices.Clone(f.times))
	f.parent = validate.Parent{Height: p.place.Height, MTP: p.mtp}
	return true, nil
}

// fill makes as many blocks as there is room for in all, and prepares them on every core. It returns those that there
// are.
func (f *headerFeed) fill(all []*prepared) ([]*prepared, error) {
	n := 0
	for ; n < len(all); n++ {
		ok, err := f.next(all[n])
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	all = all[:n]
	var next atomic.Int64
	errs := make([]error, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(all) && errs[i] == nil; at = int(next.Add(1)) - 1 {
				errs[i] = all[at].prepare(f.params)
			}
		})
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

func newPrepared(n int) []*prepared {
	all := make([]*prepared, n)
	for i := range all {
		all[i] = new(prepared)
	}
	return all
}
