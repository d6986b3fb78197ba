# Shared objects that the program loads by name, in $libdir/cfx.
plugindir = $(libdir)/cfx
EXTRA_DIST += %reldir%/mpi/README.md
if HAVE_MPI
plugin_LTLIBRARIES = %reldir%/mpi/cfx_mpi.la
%canon_reldir%_mpi_cfx_mpi_la_SOURCES = %reldir%/mpi/cfx_mpi.c \
	%reldir%/mpi/watchdog.c %reldir%/mpi/watchdog.h
%canon_reldir%_mpi_cfx_mpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
%canon_reldir%_mpi_cfx_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
%canon_reldir%_mpi_cfx_mpi_la_LIBADD = libcfx.la $(MPI_LIBS)
endif
