package chain

// Coin is an output as those see it who judge its spender. Script views memory of whoever made the coin.
type Coin struct {
	Value    int64 // satoshis
	Script   []byte
	Height   uint32 // of the block that made it
	Coinbase bool
}
