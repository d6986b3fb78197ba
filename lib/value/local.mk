libcore_la_SOURCES += \
	%reldir%/value.c
