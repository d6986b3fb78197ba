# The manual page, the chapters, and the reference of the library.

dist_man_MANS += %reldir%/cfx.1

# They are installed in a folder doc, so that their links are right there, too.
chaptersdir = $(docdir)/doc
dist_chapters_DATA = %reldir%/models.md %reldir%/shapes.md %reldir%/roofline.svg \
	%reldir%/rewriting.md %reldir%/optimize.md %reldir%/quantize.md \
	%reldir%/library.md %reldir%/torch_fx.md %reldir%/text.md \
	%reldir%/limits.md %reldir%/architecture.md

# The folder html: pages of the headers, which doxygen.awk puts into Doxygen's form.
EXTRA_DIST += %reldir%/Doxyfile %reldir%/doxygen.awk %reldir%/layout.xml \
	%reldir%/reference.dox
html-local: $(nodist_cfxinclude_HEADERS)
	@test -n '$(DOXYGEN)' || { echo 'make html needs doxygen:' \
		'install it, and run configure again' >&2; exit 1; }
	$(AM_V_GEN)SRCDIR='$(abs_srcdir)' BUILDDIR='$(abs_builddir)' \
		VERSION='$(VERSION)' $(DOXYGEN) $(srcdir)/%reldir%/Doxyfile
mostlyclean-local:
	rm -rf html
