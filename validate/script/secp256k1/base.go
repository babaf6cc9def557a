package secp256k1

import "sync"

// baseWindow is the window of the digits of G's multiplier. From 10 on verification gets hardly faster: what fewer
// additions save, larger tables take from the caches.
const baseWindow = 12

// baseTables are the odd multiples, up to 2^(window-1), of G and of 2^128*G. With a window of 12 they are 2 * 1024
// points, 128 KiB.
type baseTables struct {
	window    uint
	low, high []affine
	keyWindow uint // for the other number of multiply; keyWindow but in the small groups of tests
}

// base returns the tables, and makes them at the first call, in less than a millisecond.
var base = sync.OnceValue(func() *baseTables { return newBaseTables(&generator, baseWindow, keyWindow) })

// newBaseTables makes tables of a point that takes the place of G. Inversions are shared: three multiplications a
// point.
func newBaseTables(g *affine, window, keyWindow uint) *baseTables {
	size := 1 << (window - 2)
	var p point
	p.setAffine(g)
	for range 128 {
		p.double(&p)
	}
	var shifted affine
	shifted.toAffine(&p)

	points, zs := make([]point, 2*size), make([]field, 2*size)
	oddPoints(points[:size], g)
	oddPoints(points[size:], &shifted)
	for i := range points {
		zs[i] = points[i].z
	}
	invertAll(zs, make([]field, len(zs)))
	t := make([]affine, 2*size)
	for i := range points {
		t[i] = affine{points[i].x, points[i].y}
		t[i].scale(&zs[i])
		t[i].x.normalise()
		t[i].y.normalise()
	}
	return &baseTables{window: window, low: t[:size], high: t[size:], keyWindow: keyWindow}
}

// oddPoints sets p[i] = (2i+1)a.
func oddPoints(p []point, a *affine) {
	var twice affine
	p[0].setAffine(a)
	var d point
	d.double(&p[0])
	twice.toAffine(&d)
	for i := 1; i < len(p); i++ {
		p[i].addAffine(&p[i-1], &twice)
	}
}
