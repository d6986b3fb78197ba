# The manual page and the chapters.

dist_man_MANS += %reldir%/cfx.1

# They are installed in a folder doc, so that their links are right there, too.
chaptersdir = $(docdir)/doc
dist_chapters_DATA = %reldir%/models.md %reldir%/shapes.md %reldir%/roofline.svg \
	%reldir%/rewriting.md %reldir%/optimize.md %reldir%/quantize.md \
	%reldir%/library.md %reldir%/torch_fx.md %reldir%/text.md \
	%reldir%/limits.md %reldir%/architecture.md
