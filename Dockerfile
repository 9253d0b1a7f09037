# One image per service from one build: docker build --target env|policy|engineer|trainer .
# pip's own configuration may come as a secret: an index with CPU builds of PyTorch makes the policy and trainer images
# four gigabytes smaller. docker build --secret id=pip.conf,src=pip.conf ...
ARG PYTHON=python:3.11.13-slim-bookworm

FROM ${PYTHON} AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY shared shared
COPY services services
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${PYTHON} AS base
# hadolint ignore=DL3064 # TOKENIZERS_PARALLELISM is no token
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    TOKENIZERS_PARALLELISM=false \
    T2T_DATA_DIR=/data \
    T2T_HOST=0.0.0.0
RUN useradd --create-home --uid 10001 t2t && mkdir /data && chown t2t:t2t /data
COPY --from=wheel /wheels /wheels
COPY constraints.txt /wheels/constraints.txt
WORKDIR /home/t2t

FROM base AS env
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    pip install -c /wheels/constraints.txt "trainee2trainer[env] @ file://$(ls /wheels/*.whl)"
USER 10001
# Compiled for the processor that builds; on another one it is compiled again, in the background.
ENV NUMBA_CACHE_DIR=/home/t2t/compiled
RUN python -m env_service.compiled
CMD ["python", "-m", "env_service"]

FROM base AS policy
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    pip install -c /wheels/constraints.txt "trainee2trainer[policy] @ file://$(ls /wheels/*.whl)"
USER 10001
CMD ["python", "-m", "policy_service"]

FROM base AS engineer
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    pip install -c /wheels/constraints.txt "trainee2trainer[engineer] @ file://$(ls /wheels/*.whl)"
USER 10001
CMD ["python", "-m", "engineer_service"]

# The worker is this image with another command.
FROM base AS trainer
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    pip install -c /wheels/constraints.txt "trainee2trainer[trainer] @ file://$(ls /wheels/*.whl)"
USER 10001
CMD ["python", "-m", "trainer_service"]
