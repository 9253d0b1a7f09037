"""The same boards in process, as a Gymnasium and as a PettingZoo environment: needs the extra `gym`."""

from env_service.gym.parallel import MapfParallelEnv
from env_service.gym.single import MapfEnv

__all__ = ["MapfEnv", "MapfParallelEnv"]
