noinst_PROGRAMS += bench-walk
bench_walk_SOURCES = %reldir%/walk.c
bench_walk_LDADD = libcfx.la
