// Package style holds no code: its tests read the whole tree and enforce what is agreed about it: which package may
// import which, what every package and file must have, and what none may contain.
package style
