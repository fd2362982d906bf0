//go:build !linux

package compute

func tuneAllocators(int) {}
func trimAllocators()    {}
