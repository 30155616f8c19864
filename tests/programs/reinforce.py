"""REINFORCE: a policy learns to balance on a line, in an environment of a few lines."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class Line:
    """A ball on a tilting line: pushed left or right, it must stay within one of the middle."""

    def reset(self):
        self.place, self.speed, self.age = 0.1, 0.0, 0
        return self.state()

    def state(self):
        return torch.tensor([self.place, self.speed])

    def step(self, action):
        self.speed += 0.1 * self.place + (0.08 if action else -0.08)
        self.place += self.speed
        self.age += 1
        return self.state(), 1.0, abs(self.place) > 1 or self.age == 60


class Policy(nn.Module):
    """Probabilities of both pushes."""

    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 32)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(policy, state):
    """Draw a push, and note how probable it was."""
    m = Categorical(policy(state.unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.98):
    """Make probable what was followed by much reward."""
    total, returns = 0.0, []
    for reward in policy.rewards[::-1]:
        total = reward + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    losses = [-p * value for p, value in zip(policy.saved_log_probs, returns, strict=True)]
    optimizer.zero_grad()
    loss = torch.cat(losses).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved_log_probs[:]
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(543)
    env, policy = Line(), Policy()
    optimizer = optim.Adam(policy.parameters(), lr=2e-2)
    running = 10.0
    for episode in range(1, 121):
        state, done = env.reset(), False
        while not done:
            state, reward, done = env.step(select_action(policy, state))
            policy.rewards.append(reward)
        length = len(policy.rewards)
        running = 0.05 * length + 0.95 * running
        loss = finish_episode(policy, optimizer)
        if episode % 20 == 0:
            print(f"Episode {episode} length {length} average {running:.2f} loss {loss:.4f}")
