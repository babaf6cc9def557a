//go:build bench

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/blockchain/indexers"
	"github.com/btcsuite/btcd/btcutil/v2"
	"github.com/btcsuite/btcd/chaincfg/v2"
	"github.com/btcsuite/btcd/database"
	_ "github.com/btcsuite/btcd/database/ffldb" // the store that btcd itself uses
	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
)

const btcdLinked = true

// What btcd gives itself by default: its caches of coins and of signatures.
const (
	btcdCoins      = 250 << 20
	btcdSignatures = 100_000
)

func (j *btcdJob) run(c *childSide, dir string, _ *chain.Params) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	params := chaincfg.RegressionNetParams
	db, err := database.Create("ffldb", filepath.Join(dir, "ffldb"), params.Net)
	if err != nil {
		return err
	}
	done, err := j.process(db, &params)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	c.say(done)
	return nil
}

// process gives every block to btcd as one of a peer: no check is left out.
func (j *btcdJob) process(db database.DB, params *chaincfg.Params) (event, error) {
	done := event{Kind: saidClosed, Pages: None}
	b, err := blockchain.New(&blockchain.Config{
		DB: db, ChainParams: params, TimeSource: blockchain.NewMedianTime(), UtxoCacheMaxSize: btcdCoins,
		SigCache: txscript.NewSigCache(btcdSignatures), HashCache: txscript.NewHashCache(btcdSignatures),
		IndexManager: indexers.NewManager(db, []indexers.Indexer{indexers.NewTxIndex(db)}),
	})
	if err != nil {
		return done, err
	}
	var failed error
	err = eachBlockOf(j.Path, func(raw *chain.Block) {
		if failed != nil {
			return
		}
		block, err := btcutil.NewBlockFromBytes(append([]byte{}, raw.Raw...)) // which keeps the bytes
		if err != nil {
			failed = err
			return
		}
		onMain, orphan, err := b.ProcessBlock(block, blockchain.BFNone)
		if err == nil && (!onMain || orphan) {
			err = fmt.Errorf("block %v is not on the chain", block.Hash())
		}
		failed = err
		done.Newest = chain.Hash(*block.Transactions()[0].Hash())
	})
	if err := errors.Join(err, failed); err != nil {
		return done, err
	}
	done.Height = uint32(b.BestSnapshot().Height)
	return done, b.FlushUtxoCache(blockchain.FlushRequired)
}
