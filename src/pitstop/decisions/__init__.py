"""Pure state machines: decide(state, observation, policy, now) -> (state, actions)."""
