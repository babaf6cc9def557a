//go:build !linux

package bench

import "os"

func loadAverage() Number { return None }

func cpuModel() string { return "unknown processor" }

func pageBytes() Number { return None }

func diskReads() Number { return None }

func majorFaults() Number { return None }

func dropCache(*os.File) error { return nil }
