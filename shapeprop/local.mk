# What is known of a graph without running it, and what a run is held against.

# Shapes.
dist_cfxinclude_HEADERS += %reldir%/cfx/shape_prop.h
libcfx_all_la_SOURCES += %reldir%/shapes/shape_prop.c %reldir%/shapes/shape_scope.c \
	%reldir%/shapes/node_path.c %reldir%/text/json_value.c %reldir%/text/json_value.h \
	%reldir%/shapes/symbols.c %reldir%/shapes/symbols.h %reldir%/shapes/shape_match.c \
	%reldir%/shapes/shape_rows.c %reldir%/shapes/shape_rows.h %reldir%/shapes/shape_table.c \
	%reldir%/shapes/shape_json.c

# Collectives.
dist_cfxinclude_HEADERS += %reldir%/cfx/schedule.h
libcfx_all_la_SOURCES += %reldir%/network/schedule.c

# Graphs as torch.export has them.
dist_cfxinclude_HEADERS += %reldir%/cfx/to_aten.h %reldir%/cfx/to_onnx.h
libcfx_all_la_SOURCES += %reldir%/aten/aten.h %reldir%/aten/aten_image.c \
	%reldir%/aten/aten_index.c %reldir%/aten/lowering.c %reldir%/aten/onnx_lowering.c \
	%reldir%/aten/onnx_windows.c \
	%reldir%/aten/aten_record.c %reldir%/aten/spell.c %reldir%/aten/to_aten.c \
	%reldir%/aten/to_onnx.c %reldir%/aten/views.c

# Cost.
dist_cfxinclude_HEADERS += %reldir%/cfx/cost.h
libcfx_all_la_SOURCES += %reldir%/cost/cost.c %reldir%/cost/cost_groups.c \
	%reldir%/cost/cost_impl.h %reldir%/cost/cost_weights.c

# Rooflines.
dist_cfxinclude_HEADERS += %reldir%/cfx/roofline.h
libcfx_all_la_SOURCES += %reldir%/roofline/flow.c %reldir%/text/grid.c %reldir%/text/grid.h \
	%reldir%/roofline/roofline.c \
	%reldir%/roofline/roofline_columns.c %reldir%/roofline/roofline_compare.c \
	%reldir%/roofline/roofline_dot.c \
	%reldir%/roofline/roofline_floor.c %reldir%/roofline/roofline_trace.c \
	%reldir%/roofline/roofline_impl.h %reldir%/roofline/roofline_json.c \
	%reldir%/roofline/roofline_json.h %reldir%/roofline/roofline_measure.c \
	%reldir%/roofline/roofline_rows.c %reldir%/roofline/roofline_symbol.c \
	%reldir%/roofline/roofline_table.h %reldir%/roofline/roofline_text.c \
	%reldir%/roofline/roofline_totals.c

# What counts as what.
EXTRA_DIST += %reldir%/COSTS.md

# The machine. Descriptions of others are found where they are installed.
dist_cfxinclude_HEADERS += %reldir%/cfx/machine.h
noinst_LTLIBRARIES += libmachine.la
libmachine_la_SOURCES = %reldir%/machine/machine.c %reldir%/machine/machine_impl.h \
	%reldir%/machine/machine_json.c %reldir%/machine/machine_find.c \
	%reldir%/machine/machine_detect.c %reldir%/machine/machine_measure.c \
	%reldir%/machine/machine_team.c %reldir%/machine/machine_team.h \
	%reldir%/machine/machine_doubt.c %reldir%/machine/machine_cached.c \
	%reldir%/machine/machine_loops.h
libmachine_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DCFX_MACHINES_DIR='"$(machinesdir)"'
libcfx_all_la_LIBADD += libmachine.la

machinesdir = $(pkgdatadir)/machines
dist_machines_DATA = %reldir%/machines/epyc-9654.json \
	%reldir%/machines/nvidia-a100.json \
	%reldir%/machines/raspberry-pi-5.json

# The loops that are timed, for each level of instructions.
MACHINE_CFLAGS = $(AM_CFLAGS) -fno-math-errno -fno-trapping-math \
	-ffp-contract=fast
noinst_LTLIBRARIES += libmachine_plain.la
libmachine_plain_la_SOURCES = %reldir%/machine/machine_level.c
libmachine_plain_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=plain
libmachine_plain_la_CFLAGS = $(MACHINE_CFLAGS)
libcfx_all_la_LIBADD += libmachine_plain.la
if CFX_X86_64
noinst_LTLIBRARIES += libmachine_avx2.la libmachine_avx512.la
libmachine_avx2_la_SOURCES = %reldir%/machine/machine_level.c
libmachine_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx2
libmachine_avx2_la_CFLAGS = $(MACHINE_CFLAGS) -mavx2 -mfma
libmachine_avx512_la_SOURCES = %reldir%/machine/machine_level.c
libmachine_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx512
libmachine_avx512_la_CFLAGS = $(MACHINE_CFLAGS) -mavx512f -mavx512bw \
	-mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
libcfx_all_la_LIBADD += libmachine_avx2.la libmachine_avx512.la
endif
if CFX_AARCH64
noinst_LTLIBRARIES += libmachine_neon.la
libmachine_neon_la_SOURCES = %reldir%/machine/machine_level.c
libmachine_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=neon
libmachine_neon_la_CFLAGS = $(MACHINE_CFLAGS)
libcfx_all_la_LIBADD += libmachine_neon.la
endif

# Memory.
dist_cfxinclude_HEADERS += %reldir%/cfx/memory_plan.h
libcfx_all_la_SOURCES += %reldir%/memory/memory_impl.h %reldir%/memory/memory_plan.c \
	%reldir%/memory/memory_walk.c %reldir%/memory/memory_place.c \
	%reldir%/memory/memory_sweep.c %reldir%/memory/memory_run.c \
	%reldir%/memory/memory_text.c

# Reports. The page is made from the files in report/.
libcfx_all_la_SOURCES += %reldir%/report/report_impl.h %reldir%/report/report_plot.h \
	%reldir%/report/report.c %reldir%/report/report_select.c %reldir%/report/report_text.c \
	%reldir%/report/report_ceiling.c %reldir%/report/report_draw.c \
	%reldir%/report/report_html.c
nodist_libcfx_all_la_SOURCES += %reldir%/report_page.c
CLEANFILES += %reldir%/report_page.c
REPORT_PAGE = %reldir%/report/report.html
REPORT_PAGE_PARTS = %reldir%/report/report.css %reldir%/report/format.js \
	%reldir%/report/data.js %reldir%/report/state.js \
	%reldir%/report/draw.js %reldir%/report/summary.js \
	%reldir%/report/roofline.js %reldir%/report/sweep.js \
	%reldir%/report/modules.js \
	%reldir%/report/memory.js %reldir%/report/table.js \
	%reldir%/report/main.js
EXTRA_DIST += %reldir%/report/page.awk $(REPORT_PAGE) $(REPORT_PAGE_PARTS)

%reldir%/report_page.c: %reldir%/report/page.awk $(REPORT_PAGE) \
		$(REPORT_PAGE_PARTS)
	$(AM_V_GEN)$(MKDIR_P) %reldir% && LC_ALL=C $(AWK) \
		-v dir=$(srcdir)/%reldir%/report \
		-f $(srcdir)/%reldir%/report/page.awk \
		$(srcdir)/$(REPORT_PAGE) > $@.tmp && mv $@.tmp $@
