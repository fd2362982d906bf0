package planner

// ReasonAsked is the LaneReason of a plan that could be direct but for
// Input.ForceCompute; the caller knows the better reason.
const ReasonAsked = "asked for"
