# Readers of what may come from strangers: replayed in `make check`, and
# `make fuzz` under clang (FUZZ_FLAGS: -s SECONDS a target; FUZZ: targets).

check_PROGRAMS += tests/fuzz/replay
tests_fuzz_replay_SOURCES = %reldir%/replay.c %reldir%/targets.c \
	%reldir%/whole.c %reldir%/grammar.c %reldir%/targets.h
dist_check_SCRIPTS += %reldir%/replay.sh
TESTS += %reldir%/replay.sh
EXTRA_DIST += %reldir%/fuzz.sh %reldir%/libfuzzer.c %reldir%/seeds \
	%reldir%/seeds.py %reldir%/model.dict %reldir%/mutants.py %reldir%/README.md

.PHONY: fuzz
fuzz:
	$(srcdir)/%reldir%/fuzz.sh $(FUZZ_FLAGS) build-fuzz $(FUZZ)
