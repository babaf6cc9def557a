package esplora

import (
	"encoding/hex"
	"strconv"

	"stele/chain"
	"stele/tables"
)

// Amount is satoshis that JSON shows as BTC with 8 decimals, the way Core prints amounts.
type Amount int64

// MarshalJSON writes the amount as a JSON number.
func (a Amount) MarshalJSON() ([]byte, error) { return a.append(nil), nil }

// String is the amount as JSON shows it.
func (a Amount) String() string { return string(a.append(nil)) }

func (a Amount) append(dst []byte) []byte {
	n := uint64(a)
	if a < 0 {
		dst, n = append(dst, '-'), -n
	}
	const coin = 100_000_000
	dst = strconv.AppendUint(dst, n/coin, 10)
	frac := strconv.AppendUint(nil, coin+n%coin, 10)
	frac[0] = '.'
	return append(dst, frac...)
}

// CoreScript is Core's scriptPubKey without desc: a descriptor would have to be inferred and is left out.
type CoreScript struct {
	Asm     string `json:"asm"`
	Hex     string `json:"hex"`
	Address string `json:"address,omitempty"`
	Type    string `json:"type"`
}

// TxOut is Core's gettxout.
type TxOut struct {
	BestBlock     chain.Hash `json:"bestblock"`
	Confirmations uint32     `json:"confirmations"`
	Value         Amount     `json:"value"`
	Script        CoreScript `json:"scriptPubKey"`
	Coinbase      bool       `json:"coinbase"`
}

// TxOutSetInfo is Core's gettxoutsetinfo, of which the hash that was not asked for is absent. disk_size is left out:
// the set has no files of its own.
type TxOutSetInfo struct {
	Height       uint32      `json:"height"`
	BestBlock    chain.Hash  `json:"bestblock"`
	TxOuts       uint64      `json:"txouts"`
	BogoSize     uint64      `json:"bogosize"`
	Serialized3  *chain.Hash `json:"hash_serialized_3,omitempty"`
	MuHash       *chain.Hash `json:"muhash,omitempty"`
	TotalAmount  Amount      `json:"total_amount"`
	Transactions uint64      `json:"transactions"`
}

// UnspentOf answers with output vout of a txid; false when it is not among the unspent outputs of the view's chain.
func UnspentOf(v *tables.View, p *chain.Params, txid *chain.Hash, vout uint32) (TxOut, bool, error) {
	l, ok := v.FindStrong(txid)
	if !ok {
		return TxOut{}, false, nil
	}
	row := v.Tx(l)
	if vout >= row.Outs {
		return TxOut{}, false, nil
	}
	o := row.FirstOut + tables.OutputLink(vout)
	if v.Spent(o) {
		return TxOut{}, false, nil
	}
	value, script, err := v.Output(o, nil)
	if err != nil {
		return TxOut{}, false, err
	}
	tip, height := v.Tip()
	return TxOut{
		BestBlock:     v.Header(tip).Hash(),
		Confirmations: height - v.Header(row.Header).Height() + 1,
		Value:         Amount(value),
		Script: CoreScript{
			Asm: string(AppendCoreAsm(nil, script)), Hex: hex.EncodeToString(script),
			Address: Address(p, script), Type: coreType(script),
		},
		Coinbase: row.Coinbase,
	}, true, nil
}

// coreType names a script's pattern as Core does, to whom a key is one by its first byte as well (CPubKey::ValidSize).
func coreType(script []byte) string {
	k := classify(script)
	keys := script
	switch k {
	case kindMultisig:
		keys = script[1 : len(script)-2]
	case kindPubKey:
		keys = script[:len(script)-1]
	default:
		return kindNames[k].core
	}
	for len(keys) > 0 {
		_, key, rest, ok := next(keys)
		if !ok || !keyPrefix(key) {
			return kindNames[kindUnknown].core
		}
		keys = rest
	}
	return kindNames[k].core
}

// keyPrefix tells whether a key's first byte goes with its length.
func keyPrefix(key []byte) bool {
	switch len(key) {
	case 33:
		return key[0] == 2 || key[0] == 3
	case 65:
		return key[0] == 4 || key[0] == 6 || key[0] == 7
	}
	return false
}
