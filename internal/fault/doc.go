// Package fault holds mistakes that are made in the store on purpose, so that its tests can prove that they would be
// seen. Each is a realistic one: a sync left out, an order turned round, a check forgotten. A package under test asks On
// at the place where the mistake would be:
//
//	if fault.On(fault.LogNotSynced) { ... }
//
// Without the build tag `faults` On is a constant false, and the compiler drops it with what it guards. With the tag one
// variable, Active, says which mistake is made; it is set between runs, while nothing else runs.
package fault
