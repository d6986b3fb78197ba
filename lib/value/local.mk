libcore_la_SOURCES += \
	%reldir%/keyword.c \
	%reldir%/texts.c \
	%reldir%/texts.h \
	%reldir%/value.c
