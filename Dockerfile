# A server with uidgen: the official image of PostgreSQL, and the library on top.  In the root of the source tree:
#
#	docker build --build-arg PG_MAJOR=18 -t uidgen:18 .
#	docker run -e POSTGRES_PASSWORD=secret -e POSTGRES_DB=app uidgen:18
#
# See docs/installing.md.
ARG PG_MAJOR=18
# Debian's, or Alpine's: --build-arg BASE=postgres:18-alpine
ARG BASE=postgres:${PG_MAJOR}

FROM ${BASE} AS build
ARG PG_MAJOR
# The server's own, not that of a later libpq.  Alpine's images have the headers already.
RUN ln -s "$(command -v pg_config)" /pg_config
RUN if command -v apk; then apk add --no-cache gcc make musl-dev; else \
      apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libpq-dev make "postgresql-server-dev-${PG_MAJOR}"; fi
COPY . /usr/src/uidgen
RUN make -C /usr/src/uidgen -s clean PG_CONFIG=/pg_config && \
    make -C /usr/src/uidgen -j"$(nproc)" with_llvm=no PG_CONFIG=/pg_config && \
    make -C /usr/src/uidgen install DESTDIR=/stage with_llvm=no PG_CONFIG=/pg_config

FROM ${BASE}
COPY --from=build /stage/ /
# For clusters that the image makes.  Others get it by -c, as any setting.
RUN echo "shared_preload_libraries = 'uidgen'" >>"$(pg_config --sharedir)/postgresql.conf.sample"
COPY images/10_uidgen.sh /docker-entrypoint-initdb.d/
