"""stable-baselines3: PPO and DQN on CartPole, and the mean return of 10 episodes."""

import gymnasium
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)
ppo = PPO(
    "MlpPolicy",
    "CartPole-v1",
    n_steps=256,
    n_epochs=10,
    batch_size=64,
    learning_rate=1e-3,
    seed=0,
    device="cpu",
)
ppo.learn(20_000)
mean, _ = evaluate_policy(ppo, gymnasium.make("CartPole-v1"), 10)
print("PPO", "return at least", int(min(400, mean)) // 100 * 100)
dqn = DQN(
    "MlpPolicy",
    "CartPole-v1",
    learning_rate=2.3e-3,
    batch_size=64,
    buffer_size=100_000,
    learning_starts=1000,
    gamma=0.99,
    target_update_interval=10,
    train_freq=256,
    gradient_steps=128,
    exploration_fraction=0.16,
    exploration_final_eps=0.04,
    seed=0,
    policy_kwargs={"net_arch": [256, 256]},
    device="cpu",
)
dqn.learn(50_000)
mean, _ = evaluate_policy(dqn, gymnasium.make("CartPole-v1"), 10)
print("DQN", "return at least", int(min(400, mean)) // 100 * 100)
