package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stele/chain"
	"stele/tables"
)

// filled are the stores of a short chain.
func filled(t *testing.T, ctx context.Context) (*lookups, error) {
	t.Helper()
	l := &lookups{o: tiny(t), ctx: ctx, rows: 2_000, times: map[string][]Number{}}
	l.o.Note = func(string) {}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l, errors.Join(l.open(), l.fill())
}

// Every answer of every store is compared with the chain: one that differs ends the experiment.
func TestLookupWrong(t *testing.T) {
	l, err := filled(t, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.warm(), l.round(l.draw(0, 300), l.draw(1, 300))); err != nil {
		t.Fatal(err)
	}
	if len(l.keys) < l.rows || len(l.spends) < l.rows/2 || len(l.keys) != len(l.firstOut) {
		t.Errorf("%d transactions, %d spends, %d first outputs", len(l.keys), len(l.spends), len(l.firstOut))
	}
	for want, spoil := range map[string]func(q *queries){
		"tx.hit":       func(q *queries) { q.links[7]++ },
		"tx.miss":      func(q *queries) { q.misses[7] = q.hits[7] },
		"spender.link": func(q *queries) { q.outputs[7] = tables.OutputLink(l.t.View().Cut().Outs) - 1 },
		"spender.full": func(q *queries) { q.spenderIDs[7][0]++ },
	} {
		a, b := l.draw(2, 300), l.draw(3, 300)
		spoil(a)
		spoil(b)
		if err := l.round(a, b); err == nil || !strings.Contains(err.Error(), want+": 1 of 300") {
			t.Errorf("a wrong answer of %s gives %v", want, err)
		}
	}
	for _, r := range l.peers {
		q := l.draw(4, 300)
		q.peerHits[7]++
		if err := l.askPeer(r, q, 300); err == nil || !strings.Contains(err.Error(), r.name+".tx.hit: 1 of 300") {
			t.Errorf("a wrong answer of %s gives %v", r.name, err)
		}
	}
	l.keys[9][0]++
	if err := l.warm(); err == nil || !strings.Contains(err.Error(), "transaction 9") {
		t.Errorf("a missing transaction gives %v", err)
	}
}

// A process that finds something else in a cold store than its parent knows fails.
func TestLookupColdWrong(t *testing.T) {
	l, err := filled(t, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for ask, spoil := range map[string]func(j *coldJob){
		coldTx:    func(j *coldJob) { j.Links[3]++ },
		coldRow:   func(j *coldJob) { j.Txids[3] = chain.Hash{1} },
		coldSpend: func(j *coldJob) { j.Txids[3] = chain.Hash{1} },
	} {
		j := l.coldJob(ask, 0, 10)
		e, err := l.askCold(j)
		if err != nil || e.Kind != saidAnswered {
			t.Errorf("%s: %v, %v", ask, e, err)
		}
		spoil(j)
		if _, err := l.askCold(j); err == nil || !strings.Contains(err.Error(), "cold lookup "+ask) {
			t.Errorf("a wrong answer to %s gives %v", ask, err)
		}
	}
}

// A cancelled experiment ends where it is.
func TestLookupCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := filled(t, ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
