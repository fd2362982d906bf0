package project

import (
	"crypto/sha256"
	"encoding/hex"
)

type manifestFacts struct{}

func checksum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
