# The manual pages, the chapters, and the reference of the library.

# cfx.1 describes all commands. It is installed as an overview and a page for each.
EXTRA_DIST += %reldir%/cfx.1 %reldir%/man_pages.awk
all-local: %reldir%/man/cfx.1
%reldir%/man/cfx.1: %reldir%/cfx.1 %reldir%/man_pages.awk
	$(AM_V_GEN)rm -rf %reldir%/man && $(MKDIR_P) %reldir%/man && \
		{ awk -v dir=%reldir%/man -f $(srcdir)/%reldir%/man_pages.awk \
		$(srcdir)/%reldir%/cfx.1 $(srcdir)/%reldir%/cfx.1 || \
		{ rm -rf %reldir%/man; exit 1; }; }
install-data-local: %reldir%/man/cfx.1
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man1'
	$(INSTALL_DATA) %reldir%/man/*.1 '$(DESTDIR)$(mandir)/man1'
uninstall-local: %reldir%/man/cfx.1
	cd %reldir%/man && for page in *.1; do \
		rm -f '$(DESTDIR)$(mandir)/man1'/"$$page"; done

# They are installed in a folder doc, so that their links are right there, too.
chaptersdir = $(docdir)/doc
dist_chapters_DATA = %reldir%/models.md %reldir%/shapes.md %reldir%/roofline.svg \
	%reldir%/rewriting.md %reldir%/optimize.md %reldir%/quantize.md %reldir%/decoding.md \
	%reldir%/python.md %reldir%/distributed.md %reldir%/library.md %reldir%/torch_fx.md %reldir%/text.md \
	%reldir%/glossary.md \
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
	rm -rf html %reldir%/man
