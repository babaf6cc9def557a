// Package durable puts small files of our own on the disk so that a crash leaves the old one or the new one. The files of
// a store are package store's.
package durable
