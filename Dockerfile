# A server with uidgen: the official image of PostgreSQL, and the library on top.  In the root of the source tree:
#
#	docker build --build-arg PG_MAJOR=18 -t uidgen:18 .
#	docker run -e POSTGRES_PASSWORD=secret -e POSTGRES_DB=app uidgen:18
#
# See docs/installing.md.
ARG PG_MAJOR=18
# One of Debian's; those of Alpine have no packages of that name.
ARG BASE=postgres:${PG_MAJOR}

FROM ${BASE} AS build
ARG PG_MAJOR
RUN apt-get update && \
    apt-get install -y --no-install-recommends gcc libc6-dev libpq-dev make "postgresql-server-dev-${PG_MAJOR}"
COPY . /usr/src/uidgen
RUN make -C /usr/src/uidgen -s clean && \
    make -C /usr/src/uidgen -j"$(nproc)" with_llvm=no PG_CONFIG="/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config" && \
    make -C /usr/src/uidgen install DESTDIR=/stage with_llvm=no PG_CONFIG="/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config"

FROM ${BASE}
ARG PG_MAJOR
COPY --from=build /stage/ /
# For clusters that the image makes.  Others get it by -c, as any setting.
RUN echo "shared_preload_libraries = 'uidgen'" >>"/usr/share/postgresql/${PG_MAJOR}/postgresql.conf.sample"
COPY images/10_uidgen.sh /docker-entrypoint-initdb.d/
