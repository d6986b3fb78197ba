# What is known of a graph without running it, and what a run is held against.

# Shapes.
dist_cfxinclude_HEADERS += %reldir%/cfx/shape_prop.h
libcfx_all_la_SOURCES += %reldir%/shape_prop.c %reldir%/shape_scope.c \
	%reldir%/node_path.c %reldir%/json_value.c %reldir%/json_value.h \
	%reldir%/symbols.c %reldir%/symbols.h %reldir%/shape_match.c \
	%reldir%/shape_rows.c %reldir%/shape_rows.h %reldir%/shape_table.c \
	%reldir%/shape_json.c

# Cost.
dist_cfxinclude_HEADERS += %reldir%/cfx/cost.h
libcfx_all_la_SOURCES += %reldir%/cost.c %reldir%/cost_groups.c \
	%reldir%/cost_impl.h %reldir%/cost_weights.c

# Rooflines.
dist_cfxinclude_HEADERS += %reldir%/cfx/roofline.h
libcfx_all_la_SOURCES += %reldir%/flow.c %reldir%/roofline.c \
	%reldir%/roofline_columns.c %reldir%/roofline_floor.c \
	%reldir%/roofline_impl.h %reldir%/roofline_measure.c \
	%reldir%/roofline_rows.c \
	%reldir%/roofline_table.h %reldir%/roofline_text.c \
	%reldir%/roofline_totals.c

# The machine. Descriptions of others are found where they are installed.
dist_cfxinclude_HEADERS += %reldir%/cfx/machine.h
noinst_LTLIBRARIES += libmachine.la
libmachine_la_SOURCES = %reldir%/machine.c %reldir%/machine_impl.h \
	%reldir%/machine_json.c %reldir%/machine_find.c
libmachine_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DCFX_MACHINES_DIR='"$(pkgdatadir)/machines"'
libcfx_all_la_LIBADD += libmachine.la

# Memory.
dist_cfxinclude_HEADERS += %reldir%/cfx/memory_plan.h

# Reports. The page is made from the files in report/.
dist_cfxinclude_HEADERS += %reldir%/cfx/report.h
libcfx_all_la_SOURCES += %reldir%/report_impl.h %reldir%/report_plot.h \
	%reldir%/report_read.c %reldir%/report_text.c \
	%reldir%/report_ceiling.c %reldir%/report_draw.c \
	%reldir%/report_html.c
nodist_libcfx_all_la_SOURCES += %reldir%/report_page.c
CLEANFILES += %reldir%/report_page.c
REPORT_PAGE = %reldir%/report/report.html
REPORT_PAGE_PARTS = %reldir%/report/report.css %reldir%/report/format.js \
	%reldir%/report/data.js %reldir%/report/state.js \
	%reldir%/report/draw.js %reldir%/report/ceilings.js \
	%reldir%/report/summary.js \
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
