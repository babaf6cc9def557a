//go:build bench

package bench

import (
	"bytes"

	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// btcdEngine runs inputs with btcd's engine, which verifies with btcec as ours does here. A legacy input gets no hashes
// that are kept, as in btcd's node.
func btcdEngine(s *scriptWork) (*btcdSide, error) {
	tx := new(wire.MsgTx)
	if err := tx.Deserialize(bytes.NewReader(s.block.Raw)); err != nil {
		return nil, err
	}
	prevouts := txscript.NewMultiPrevOutFetcher(nil)
	for i, in := range tx.TxIn {
		prevouts.AddPrevOut(in.PreviousOutPoint, &wire.TxOut{Value: s.coins[i].Value, PkScript: s.coins[i].Script})
	}
	const flags = txscript.ScriptBip16 | txscript.ScriptVerifyDERSignatures
	return &btcdSide{
		verify: func(in int) error {
			coin := &s.coins[in]
			e, err := txscript.NewEngine(coin.Script, tx, in, flags, nil, nil, coin.Value, prevouts)
			if err != nil {
				return err
			}
			return e.Execute()
		},
		hash: func(in int) error {
			_, err := txscript.CalcSignatureHash(s.coins[in].Script, txscript.SigHashAll, tx, in)
			return err
		},
	}, nil
}
