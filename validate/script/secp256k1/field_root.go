package secp256k1

// chain raises x to (p+1)/4, which gives a root, as p is 3 modulo 4. In binary that exponent is 223 ones, a zero, 22
// ones, four zeros, two ones, two zeros. Each step puts squarings bits behind the exponent of one number and adds
// that of another, so that the runs of ones grow from shorter ones: 1, 2, 3, 6, 9, 11, 22, 44, 88, 176, 220, 223. 253
// squarings with the two last, 13 multiplications.
var chain = [...]struct{ to, from, squarings, by int }{
	{ones2, ones1, 1, ones1},
	{ones3, ones2, 1, ones1},
	{running, ones3, 3, ones3},   // 6
	{running, running, 3, ones3}, // 9
	{running, running, 2, ones2}, // 11
	{ones22, running, 11, running},
	{ones44, ones22, 22, ones22},
	{ones88, ones44, 44, ones44},
	{running, ones88, 88, ones88},  // 176
	{running, running, 44, ones44}, // 220
	{running, running, 3, ones3},   // 223
	{running, running, 23, ones22},
	{running, running, 6, ones2},
}

// The numbers of the chain, by the ones of their exponents.
const (
	ones1 = iota
	ones2
	ones3
	ones22
	ones44
	ones88
	running
	chainNumbers
)

// sqrt sets r to the root of a that is itself a square, and tells whether a is a square at all.
func (r *field) sqrt(a *field) bool {
	var x [chainNumbers]field
	x[ones1] = *a
	for i := range chain {
		c := &chain[i]
		var t field
		t.sqrs(&x[c.from], c.squarings)
		x[c.to].mul(&t, &x[c.by])
	}
	r.sqrs(&x[running], 2)
	x[running].sqr(r)
	return x[running].equal(&x[ones1])
}

// sqrtPair does two at once, in less than twice the time: a squaring waits for the one before, but not for the other
// root's.
func sqrtPair(r, a *[2]field) bool {
	var x [chainNumbers][2]field
	x[ones1] = *a
	for i := range chain {
		c := &chain[i]
		var t [2]field
		sqrsPair(&t, &x[c.from], c.squarings)
		for j := range t {
			x[c.to][j].mul(&t[j], &x[c.by][j])
		}
	}
	sqrsPair(r, &x[running], 2)
	sqrsPair(&x[running], r, 1)
	return x[running][0].equal(&x[ones1][0]) && x[running][1].equal(&x[ones1][1])
}

// inverse sets r = 1/a, normal; 0 for 0.
func (r *field) inverse(a *field) {
	t := *a
	t.normalise()
	*r = field(invert(t, &modP))
}

// invertAll replaces each field of all by its inverse, at the price of one inverse and three multiplications a field.
// None may be zero. products is scratch of the same length.
func invertAll(all, products []field) {
	if len(all) == 0 {
		return
	}
	product := fieldOne
	for i := range all {
		products[i] = product // of those before i
		product.mul(&product, &all[i])
	}
	if checked {
		require(!product.isZero(), "an inverse of zero")
	}
	product.inverse(&product)
	for i := len(all) - 1; i >= 0; i-- {
		products[i].mul(&products[i], &product)
		product.mul(&product, &all[i])
		all[i] = products[i]
	}
}
