# The program: main.c and one file per command, listed in commands.def.

bin_PROGRAMS += cfx
cfx_SOURCES = %reldir%/main.c %reldir%/cli.h %reldir%/commands.def \
    %reldir%/options.c %reldir%/options.h %reldir%/session.c \
    %reldir%/complete.c %reldir%/progress.h \
    %reldir%/signals.c \
    %reldir%/input.c %reldir%/missing_input.c %reldir%/output.c %reldir%/output.h \
    %reldir%/output_json.c %reldir%/expect.c %reldir%/expect.h \
    %reldir%/comm.c %reldir%/comm.h \
    %reldir%/cmd_run.c %reldir%/cmd_info.c %reldir%/cmd_print.c %reldir%/cmd_ops.c \
    %reldir%/ops_table.c %reldir%/ops_table.h \
    %reldir%/cmd_diff.c %reldir%/cmd_convert.c \
    %reldir%/cmd_roofline.c %reldir%/cmd_machine.c \
    %reldir%/cmd_transform.c %reldir%/cmd_passes.c \
    %reldir%/cmd_optimize.c %reldir%/cmd_quantize.c %reldir%/rewrite.c %reldir%/rewrite.h \
    %reldir%/fill_inputs.c %reldir%/shape_input.c %reldir%/cmd_shapes.c \
    %reldir%/shapes_memory.c %reldir%/batches.c %reldir%/batches.h \
    %reldir%/row_files.c %reldir%/row_files.h %reldir%/shards.c %reldir%/shards.h
if CFX_THREADS
cfx_SOURCES += %reldir%/progress.c
else
cfx_SOURCES += %reldir%/progress_none.c
endif
# The types in which tests compare operators, for cfx ops --table.
%reldir%/cfx-ops_table.$(OBJEXT): %reldir%/tested.def
nodist_cfx_SOURCES = %reldir%/tested.def
BUILT_SOURCES += %reldir%/tested.def
CLEANFILES += %reldir%/tested.def
%reldir%/tested.def: $(srcdir)/tests/golden/tested.def
	$(AM_V_GEN)$(MKDIR_P) %reldir% && cp $(srcdir)/tests/golden/tested.def $@
cfx_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_PLUGIN_DIR='"$(plugindir)"'
cfx_LDADD = libcfx.la $(JANSSON_LIBS)
# Where there is no shared library, plugins use the program's copy.
cfx_LDFLAGS = $(AM_LDFLAGS)
if STATIC_ONLY
cfx_LDFLAGS += -export-dynamic
endif

# The shells call the program for completions.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %reldir%/completion/cfx
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = %reldir%/completion/_cfx
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = %reldir%/completion/cfx.fish
