# Benchmarks: `make bench`; PYTHON=... is a Python with torch. They are built
# when they are asked for.

EXTRA_PROGRAMS += bench-walk bench-load bench-speed \
	bench-graphs bench-limits
bench_walk_SOURCES = %reldir%/walk.c %reldir%/time.c %reldir%/bench.h
bench_walk_LDADD = libcfx.la
bench_load_SOURCES = %reldir%/load.c
bench_load_LDADD = libcfx.la
bench_speed_SOURCES = %reldir%/speed.c %reldir%/rows.c %reldir%/peer.c \
	%reldir%/limits.c %reldir%/time.c %reldir%/bench.h
bench_speed_LDADD = libcfx.la $(BLAS_LIBS)
bench_graphs_SOURCES = %reldir%/graphs.c %reldir%/peer.c %reldir%/time.c \
	%reldir%/bench.h
bench_graphs_LDADD = libcfx.la
bench_limits_SOURCES = %reldir%/machine.c %reldir%/time.c %reldir%/bench.h
bench_limits_CFLAGS = $(AM_CFLAGS) -O3
bench_limits_LDADD = libcfx.la $(BLAS_LIBS)

# GEMM_FLAGS: options of bench-gemm, such as -k float64; CFX_CPU and
# OPENBLAS_CORETYPE choose the kernels of cfx and of OpenBLAS.
EXTRA_PROGRAMS += bench-gemm
bench_gemm_SOURCES = %reldir%/gemm.c %reldir%/time.c %reldir%/bench.h
bench_gemm_LDADD = libcfx_all.la
.PHONY: bench-products
bench-products: bench-gemm
	./bench-gemm $(GEMM_FLAGS)

EXTRA_PROGRAMS += bench-shapes
bench_shapes_SOURCES = %reldir%/shapes.c %reldir%/time.c %reldir%/bench.h
bench_shapes_LDADD = libcfx.la

EXTRA_PROGRAMS += bench-propagation
bench_propagation_SOURCES = %reldir%/propagation.c %reldir%/time.c \
	%reldir%/bench.h
bench_propagation_LDADD = libcfx.la
EXTRA_DIST += %reldir%/propagation_peer.py

# One token of a decoder after the other; DECODE_FLAGS: -t, -n. DECODER is the
# folder of the models, which are written there if they are missing.
EXTRA_PROGRAMS += bench-decode
bench_decode_SOURCES = %reldir%/decode.c %reldir%/time.c %reldir%/bench.h
bench_decode_LDADD = libcfx.la
EXTRA_DIST += %reldir%/decoder.py
DECODER = decoder
.PHONY: bench-of-decoding
bench-of-decoding: bench-decode cfx
	test -e $(DECODER)/decoder.fx || \
		$(PYTHON) $(srcdir)/%reldir%/decoder.py $(DECODER)
	for w in 'int8' 'int4 --group 128' 'int4 --group 32'; do \
	q=$(DECODER)/$$(echo "$$w" | tr -d ' -').fx; test -e $$q || \
		./cfx quantize $(DECODER)/decoder.fx --weights-only $$w -q \
		-o $$q || exit 1; done
	for how in ' decoder' '-o -a decoder' '-b -a decoder' '-q -o -a int8' \
		'-q -o -a int4group128' '-q -o -a int4group32'; do \
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./bench-decode \
		$(DECODE_FLAGS) $${how% *} $(DECODER)/$${how##* }.fx \
		$(DECODER)/decoder.tokens.npy || exit 1; done

# The same for a Llama with 1.1 billion parameters; the models take 12 GB.
.PHONY: bench-of-llama
bench-of-llama: bench-decode cfx
	test -e $(DECODER)/llama.pt2 || \
		$(PYTHON) $(srcdir)/%reldir%/decoder.py --llama $(DECODER)
	for w in 'int8' 'int4 --group 32'; do \
	q=$(DECODER)/llama$$(echo "$$w" | tr -d ' -').fx; test -e $$q || \
		./cfx quantize $(DECODER)/llama.pt2 --weights-only $$w -q \
		-o $$q || exit 1; done
	for how in '-o -a llama.pt2' '-b -a llama.pt2' '-q -o -a llamaint8.fx' \
		'-q -o -a llamaint4group32.fx'; do \
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./bench-decode \
		$(DECODE_FLAGS) $${how% *} $(DECODER)/$${how##* } \
		$(DECODER)/llama.tokens.npy || exit 1; done

# Whole models, optimized, compared with other engines: PYTHON has torch,
# torchvision, transformers, onnxruntime and openvino. PEERS is the folder of the
# models, which are written there if they are missing; PEERS_FLAGS: peers.py.
EXTRA_PROGRAMS += bench-serve
bench_serve_SOURCES = %reldir%/serve.c %reldir%/time.c %reldir%/bench.h
bench_serve_LDADD = libcfx.la
EXTRA_DIST += %reldir%/peers.py %reldir%/peers_models.py %reldir%/peers_networks.py
PEERS = peers
.PHONY: bench-peers
bench-peers: bench-serve
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(PYTHON) \
		$(srcdir)/%reldir%/peers.py ./bench-serve $(PEERS) $(PEERS_FLAGS)

# One network by every way in; WAYS_FLAGS: models of torchvision, -n RUNS.
.PHONY: bench-of-ways
EXTRA_DIST += %reldir%/ways.py %reldir%/python.py
bench-of-ways: cfx
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(PYTHON) \
		$(srcdir)/%reldir%/ways.py ./cfx $(WAYS_FLAGS)

# ZOO_SOURCES: tests/local.mk.
EXTRA_PROGRAMS += bench-roofline
bench_roofline_SOURCES = %reldir%/roofline.c $(ZOO_SOURCES)
bench_roofline_LDADD = libcfx.la $(JANSSON_LIBS)

EXTRA_DIST += %reldir%/README.md %reldir%/peer.py %reldir%/graphs_peer.py \
	%reldir%/rows.txt %reldir%/operators.txt \
	%reldir%/peak.sh %reldir%/against.sh

# BENCH_FLAGS: options of bench-speed, such as -k TEXT. The unset variables would
# make OpenBLAS choose other kernels.
.PHONY: bench
bench: bench-walk bench-speed zoo/unpacked
	./bench-walk
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./bench-speed \
		-z "$${CFX_ZOO:-zoo}" \
		$${PYTHON:+-p "$$PYTHON $(srcdir)/%reldir%/peer.py"} \
		$(BENCH_FLAGS) $(srcdir)/%reldir%/rows.txt

# GRAPH_FLAGS: options of bench-graphs.
.PHONY: bench-of-graphs
bench-of-graphs: bench-graphs
	./bench-graphs $${PYTHON:+-p "$$PYTHON $(srcdir)/%reldir%/graphs_peer.py"} \
		$(GRAPH_FLAGS)

# Compare the rates of cfx machine with others; LIMITS_FLAGS: -c, -p, -n RUNS.
.PHONY: bench-machine
bench-machine: bench-limits
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./bench-limits \
		$(LIMITS_FLAGS)

# Compare this build with an older one: OLD=DIR is its build folder;
# AGAINST_FLAGS: options of against.sh, such as -r RUNS, -k TEXT.
.PHONY: bench-against
bench-against: bench-speed bench-graphs bench-propagation zoo/unpacked
	@test -n "$(OLD)" || { echo "OLD=DIR names the older build"; exit 2; }
	$(MAKE) -C "$(OLD)" bench-speed bench-graphs bench-propagation
	$(srcdir)/%reldir%/against.sh -z "$${CFX_ZOO:-zoo}" $(AGAINST_FLAGS) \
		"$(OLD)" . $(srcdir)/%reldir%/rows.txt

# Shape propagation: a run of the program, walks of resnet50.
.PHONY: bench-of-shapes
bench-of-shapes: bench-shapes cfx zoo/unpacked
	./bench-shapes $(SHAPE_FLAGS) ./cfx $(srcdir)/models/resnet18.fx \
		'x=f32[N,3,H,W]' "$${CFX_ZOO:-zoo}/resnet50.fx"

# Compare the walk alone with torch; PROPAGATION_FLAGS: -m MODEL, -n RUNS.
.PHONY: bench-of-propagation
bench-of-propagation: bench-propagation zoo/unpacked
	./bench-propagation -z "$${CFX_ZOO:-zoo}" \
		$${PYTHON:+-p "$$PYTHON $(srcdir)/%reldir%/propagation_peer.py"} \
		$(PROPAGATION_FLAGS)

# Compare floors with runs of the zoo, or of MODELS; ROOFLINE_FLAGS: -n.
.PHONY: bench-of-rooflines
bench-of-rooflines: bench-roofline zoo/unpacked
	@zoo=$${CFX_ZOO:-zoo}; status=0; for t in 1 2; do \
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./bench-roofline -t $$t \
		$(ROOFLINE_FLAGS) $$zoo $(srcdir)/tests/golden/zoo \
		$${MODELS:-$$(cd $$zoo && ls *.fx | sed 's/\.fx$$//')} || \
		status=1; done; exit $$status
