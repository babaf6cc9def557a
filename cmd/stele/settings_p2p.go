package main

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"

	"stele/chain"
)

// hostsOf splits a list of hosts with ports. Where port is not zero it is that of hosts without one.
func hostsOf(value string, port uint16) (hosts []string, err error) {
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		host, service, err := net.SplitHostPort(one)
		if err != nil && port != 0 {
			bare := strings.TrimSuffix(strings.TrimPrefix(one, "["), "]")
			host, service, err = net.SplitHostPort(net.JoinHostPort(bare, strconv.Itoa(int(port))))
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not host:port", one)
		}
		if n, err := strconv.ParseUint(service, 10, 16); err != nil || n == 0 && port != 0 {
			return nil, fmt.Errorf("%q has no port from 1 to 65535", one)
		}
		hosts = append(hosts, net.JoinHostPort(host, service))
	}
	return hosts, nil
}

func checkListen(c *config, value string) (err error) {
	c.listen, err = hostsOf(value, 0) // port 0: one that is free
	return err
}

func checkConnect(c *config, value string) (err error) {
	c.connect, err = hostsOf(value, c.params.Port)
	return err
}

func checkAddNode(c *config, value string) (err error) {
	c.addNode, err = hostsOf(value, c.params.Port)
	return err
}

func checkProxy(c *config, value string) error {
	hosts, err := hostsOf(value, 0)
	switch {
	case err != nil:
		return err
	case len(hosts) > 1:
		return fmt.Errorf("%q is more than one proxy", value)
	case len(hosts) == 1:
		c.proxy = hosts[0]
	}
	return nil
}

func checkInbound(c *config, value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n > maxInboundLimit {
		return fmt.Errorf("%q is not a number from 0 to %d", value, maxInboundLimit)
	}
	if c.maxInbound = int(n); n == 0 {
		c.maxInbound = math.MinInt32 // zero is the default, further down
	}
	return nil
}

// maxInboundLimit is far beyond what file descriptors allow.
const maxInboundLimit = 100_000

func onOff(value string) (bool, error) {
	if value != "on" && value != "off" {
		return false, fmt.Errorf("%q is neither on nor off", value)
	}
	return value == "on", nil
}

func checkEncrypt(c *config, value string) (err error) {
	c.encrypt, err = onOff(value)
	return err
}

func checkSeeds(c *config, value string) (err error) {
	c.seeds, err = onOff(value)
	return err
}

// checkMinimumWork reads a number of up to 64 hex digits, as Core's -minimumchainwork.
func checkMinimumWork(c *config, value string) (err error) {
	if value == "" {
		return nil
	}
	if c.minimumWork, err = chain.ParseWork(strings.TrimPrefix(strings.ToLower(value), "0x")); err != nil {
		return fmt.Errorf("%q is not a number of up to 64 hex digits", value)
	}
	return nil
}
