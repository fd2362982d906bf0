package blob

// HeldBytes lets tests keep no footers.
var HeldBytes = &heldBytes
