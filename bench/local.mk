noinst_PROGRAMS += bench-walk
bench_walk_SOURCES = %reldir%/walk.c
bench_walk_LDADD = libcfx.la
noinst_PROGRAMS += bench-load
bench_load_SOURCES = %reldir%/load.c
bench_load_LDADD = libcfx.la
EXTRA_DIST += %reldir%/peak.sh
