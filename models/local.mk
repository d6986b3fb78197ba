modelsdir = $(pkgdatadir)/models
dist_models_DATA = %reldir%/digits.fx %reldir%/digits.safetensors \
	%reldir%/digits_images.npy %reldir%/digits_labels.npy \
	%reldir%/mymodule.fx %reldir%/mymodule.safetensors \
	%reldir%/topk.fx %reldir%/topk.safetensors %reldir%/resnet18.fx \
	%reldir%/mobilenet_v3_small.fx %reldir%/branch.fx %reldir%/export.py \
	%reldir%/captured.py %reldir%/small_llama.pt2 %reldir%/small_llama.model
EXTRA_DIST += %reldir%/train_digits.py %reldir%/train_llama.py %reldir%/export_small.py
