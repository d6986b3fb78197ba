# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine.

# Memory.

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
	%reldir%/report/roofline.js %reldir%/report/modules.js \
	%reldir%/report/memory.js %reldir%/report/table.js \
	%reldir%/report/main.js
EXTRA_DIST += %reldir%/report/page.awk $(REPORT_PAGE) $(REPORT_PAGE_PARTS)

%reldir%/report_page.c: %reldir%/report/page.awk $(REPORT_PAGE) \
		$(REPORT_PAGE_PARTS)
	$(AM_V_GEN)$(MKDIR_P) %reldir% && LC_ALL=C $(AWK) \
		-v dir=$(srcdir)/%reldir%/report \
		-f $(srcdir)/%reldir%/report/page.awk \
		$(srcdir)/$(REPORT_PAGE) > $@.tmp && mv $@.tmp $@
