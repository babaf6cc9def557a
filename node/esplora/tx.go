package esplora

import (
	"encoding/hex"
	"fmt"
	"sync"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// Status says where a transaction is confirmed. Off the best chain it is {"confirmed":false} and nothing else.
type Status struct {
	Confirmed bool        `json:"confirmed"`
	Height    *uint32     `json:"block_height,omitempty"`
	Hash      *chain.Hash `json:"block_hash,omitempty"`
	Time      *uint32     `json:"block_time,omitempty"` // of the block's header, seconds since 1970
}

// Input is one of Esplora's vin.
type Input struct {
	Txid       chain.Hash `json:"txid"` // zero for a coinbase, with vout 4294967295
	Vout       uint32     `json:"vout"`
	Coinbase   bool       `json:"is_coinbase"`
	Script     string     `json:"scriptsig"`
	Asm        string     `json:"scriptsig_asm"`
	RedeemAsm  *string    `json:"inner_redeemscript_asm,omitempty"`
	WitnessAsm *string    `json:"inner_witnessscript_asm,omitempty"`
	Sequence   uint32     `json:"sequence"`
	Witness    []string   `json:"witness"`
	Prevout    *Output    `json:"prevout"`
}

// Tx is Esplora's transaction.
type Tx struct {
	Txid     chain.Hash `json:"txid"`
	Version  uint32     `json:"version"`
	LockTime uint32     `json:"locktime"`
	Size     int        `json:"size"`   // bytes with witness
	Weight   int        `json:"weight"` // BIP141
	Fee      int64      `json:"fee"`    // satoshis; 0 for a coinbase
	Vin      []Input    `json:"vin"`
	Vout     []Output   `json:"vout"`
	Status   Status     `json:"status"`
}

// scratch is what decoding a transaction needs, kept for the next one.
type scratch struct {
	wire, script []byte
	tx           chain.Block
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// statusAt is the status of whatever header l holds, in the view's chain or not.
func statusAt(v *tables.View, l tables.HeaderLink, confirmed bool) Status {
	if !confirmed {
		return Status{}
	}
	h := v.Header(l)
	height, hash, time := h.Height(), h.Hash(), h.Time()
	return Status{Confirmed: true, Height: &height, Hash: &hash, Time: &time}
}

// Transaction makes the answer for transaction l of the view. Its errors are the store's.
func Transaction(v *tables.View, p *chain.Params, l tables.TxLink) (*Tx, error) {
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	row := v.Tx(l)
	wire, err := v.AppendTx(s.wire[:0], l, true)
	s.wire = wire
	if err != nil {
		return nil, err
	}
	if err := s.tx.DecodeTx(wire); err != nil {
		what := fmt.Sprintf("rebuilds transaction %v to bytes that are none: %v", row.Txid, err)
		return nil, &store.Damaged{Name: "tx", What: what}
	}
	stripped, total := s.tx.TxSize(0)
	t := &s.tx.Txs[0]
	a := &Tx{
		Txid: row.Txid, Version: t.Version, LockTime: t.LockTime,
		Size: total, Weight: (chain.WitnessScale-1)*stripped + total,
		Vin: make([]Input, t.Ins), Vout: make([]Output, t.Outs),
		Status: statusAt(v, row.Header, row.Strong),
	}
	var in, out int64
	for i := range a.Vin {
		value, script, spends, err := s.prevout(v, &row, i)
		if err != nil {
			return nil, err
		}
		a.Vin[i] = s.input(p, i, spends, value, script)
		in += value
	}
	for i := range a.Vout {
		o := s.tx.Outs[i]
		a.Vout[i] = makeOutput(p, o.Value, s.tx.Bytes(o.Script))
		out += o.Value
	}
	if !row.Coinbase {
		a.Fee = in - out
	}
	return a, nil
}

// prevout reads the output that input i of the decoded transaction spends; false for a coinbase. The script is valid
// until the next call.
func (s *scratch) prevout(v *tables.View, row *tables.Tx, i int) (value int64, script []byte, spends bool, err error) {
	o, spends := v.Prevout(row.FirstIn + tables.InputLink(i))
	if !spends {
		return 0, nil, false, nil
	}
	if uint64(o) >= v.Cut().Outs {
		what := fmt.Sprintf("names no output for an input of transaction %v", row.Txid)
		return 0, nil, true, &store.Damaged{Name: "ins", What: what}
	}
	value, s.script, err = v.Output(o, s.script)
	return value, s.script, true, err
}

// input describes input i of the decoded transaction and, unless it is a coinbase's, the output that it spends.
func (s *scratch) input(p *chain.Params, i int, spends bool, value int64, script []byte) Input {
	in := &s.tx.Ins[i]
	txid, vout := s.tx.Outpoint(i)
	sig := s.tx.Bytes(in.Script)
	a := Input{
		Txid: *txid, Vout: vout, Sequence: in.Sequence, Coinbase: !spends,
		Script: hex.EncodeToString(sig), Asm: string(AppendAsm(nil, sig)),
		Witness: make([]string, in.Items),
	}
	var last []byte
	for k := range a.Witness {
		last = s.tx.Bytes(s.tx.Items[int(in.FirstItem)+k])
		a.Witness[k] = hex.EncodeToString(last)
	}
	if spends {
		o := makeOutput(p, value, script)
		a.Prevout = &o
		a.RedeemAsm, a.WitnessAsm = innerScripts(script, sig, last, in.Items > 0)
	}
	return a
}

// innerScripts finds the scripts that an input reveals, as text: the redeem script is the last push of the input's
// script under P2SH, the witness script the last witness item under P2WSH, bare or inside P2SH.
func innerScripts(prevout, sig, last []byte, witness bool) (redeemAsm, witnessAsm *string) {
	text := func(script []byte) *string {
		s := string(AppendAsm(nil, script))
		return &s
	}
	program := prevout
	if classify(prevout) == kindScriptHash {
		redeem, ok := lastPush(sig)
		if !ok {
			return nil, nil
		}
		redeemAsm, program = text(redeem), redeem
	}
	if witness && classify(program) == kindWitnessScriptHash {
		witnessAsm = text(last)
	}
	return redeemAsm, witnessAsm
}

// lastPush returns what the last instruction of a script pushes; false where it is none, or not a push of bytes.
func lastPush(script []byte) (data []byte, ok bool) {
	for len(script) > 0 {
		var op byte
		if op, data, script, ok = next(script); !ok || op > opPushData4 {
			ok = false
		}
	}
	return data, ok
}

// Outspend is Esplora's answer to who spends an output: {"spent":false}, or with the rest.
type Outspend struct {
	Spent  bool        `json:"spent"`
	Txid   *chain.Hash `json:"txid,omitempty"`
	Vin    *uint32     `json:"vin,omitempty"`
	Status *Status     `json:"status,omitempty"`
}

// SpenderOf answers who spends output o in the view's chain.
func SpenderOf(v *tables.View, o tables.OutputLink) Outspend {
	row, index, ok := v.SpenderTx(o)
	if !ok {
		return Outspend{}
	}
	return outspend(v, &row, index)
}

// SpendersOf answers with every spender of output o that was ever archived, in archive order.
func SpendersOf(v *tables.View, o tables.OutputLink) []Outspend {
	all := v.Spenders(nil, o)
	answers := make([]Outspend, len(all))
	for i, s := range all {
		row := v.Tx(s.Tx)
		answers[i] = outspend(v, &row, s.Index)
	}
	return answers
}

// outspend makes the answer of one allocation: what its pointers lead to lies side by side.
func outspend(v *tables.View, row *tables.Tx, index uint32) Outspend {
	a := &struct {
		txid, hash        chain.Hash
		vin, height, time uint32
		status            Status
	}{txid: row.Txid, vin: index}
	if row.Strong {
		h := v.Header(row.Header)
		a.height, a.hash, a.time = h.Height(), h.Hash(), h.Time()
		a.status = Status{Confirmed: true, Height: &a.height, Hash: &a.hash, Time: &a.time}
	}
	return Outspend{Spent: true, Txid: &a.txid, Vin: &a.vin, Status: &a.status}
}
