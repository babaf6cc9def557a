package chain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ActivationError is what is wrong with a text that WithActivation was given.
type ActivationError struct {
	Spec string // the whole text
	What string // format, height value or name, as Core words it
}

func (e *ActivationError) Error() string {
	return fmt.Sprintf("invalid %s (%s) for an activation height, name@height", e.What, e.Spec)
}

// WithActivation is a copy of p in which one buried deployment begins at another height (Core: -testactivationheight).
// spec is name@height, with one of the names bip34, dersig, cltv, csv and segwit, and a height from 0 to 2^31-2. The
// error, an *ActivationError, names what Core finds first: the format, then the height, then the name. Slices of the
// copy are shared with p.
func (p *Params) WithActivation(spec string) (*Params, error) {
	name, text, ok := strings.Cut(spec, "@")
	if !ok {
		return nil, &ActivationError{spec, "format"}
	}
	height, err := strconv.ParseInt(text, 10, 32)
	if err != nil || height < 0 || height == math.MaxInt32 || text[0] == '+' {
		return nil, &ActivationError{spec, "height value"}
	}
	q := *p
	at, ok := map[string]*uint32{
		"bip34": &q.BIP34, "dersig": &q.BIP66, "cltv": &q.BIP65, "csv": &q.CSV, "segwit": &q.Segwit,
	}[name]
	if !ok {
		return nil, &ActivationError{spec, "name"}
	}
	*at = uint32(height)
	return &q, nil
}
