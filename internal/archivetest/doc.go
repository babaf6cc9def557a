// Package archivetest puts blocks into tables for tests whose subject is the tables and not confirmation: prevouts are
// resolved as plainly as can be, and nobody asks how old they are, so that a test's chain may spend its coinbases at
// once. What production does is package tables/confirm.
package archivetest
