libcore_la_SOURCES += \
	%reldir%/texts.c \
	%reldir%/texts.h \
	%reldir%/value.c
