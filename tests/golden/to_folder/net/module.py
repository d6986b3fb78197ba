
import torch
from math import inf
from math import nan
NoneType = type(None)
import torch
from torch import device
import torch.fx._pytree as fx_pytree
import torch.utils._pytree as pytree

from torch.nn import *
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        setattr(self, 'conv', Conv2d(2, 3, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), padding_mode=circular))
        setattr(self, 'bn', BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True))
        setattr(self, 'body', torch.load(r'net/body.pt', weights_only=False)) # Module(   (0): Linear(in_features=3, out_features=4, bias=True)   (1): Dropout(p=0.5, inplace=False)   (2): Module(     (0): GELU(approximate='tanh')     (1): ReLU()   ) )
        setattr(self, 'steps', torch.load(r'net/steps.pt', weights_only=False)) # Module(   (0): Linear(in_features=4, out_features=4, bias=True)   (1): Linear(in_features=4, out_features=4, bias=True)   (2): Linear(in_features=4, out_features=4, bias=True) )
        setattr(self, 'norm', torch.load(r'net/norm.pt', weights_only=False)) # LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)
        self.register_buffer('shift', torch.empty([4], dtype=torch.int64))
        setattr(self, 'scale', torch.nn.Parameter(torch.empty([4], dtype=torch.float32)))
        self.load_state_dict(torch.load(r'net/state_dict.pt'))



    def forward(self, x):
        conv = self.conv(x);  x = None
        bn = self.bn(conv);  conv = None
        mean = bn.mean((2, 3));  bn = None
        body_0 = getattr(self.body, "0")(mean);  mean = None
        body_1 = getattr(self.body, "1")(body_0);  body_0 = None
        body_2_0 = getattr(getattr(self.body, "2"), "0")(body_1);  body_1 = None
        body_2_1 = getattr(getattr(self.body, "2"), "1")(body_2_0);  body_2_0 = None
        steps_0 = getattr(self.steps, "0")(body_2_1)
        sigmoid = torch.sigmoid(steps_0);  steps_0 = None
        steps_1 = getattr(self.steps, "1")(sigmoid);  sigmoid = None
        sigmoid_1 = torch.sigmoid(steps_1);  steps_1 = None
        steps_2 = getattr(self.steps, "2")(sigmoid_1);  sigmoid_1 = None
        sigmoid_2 = torch.sigmoid(steps_2);  steps_2 = None
        norm = self.norm(sigmoid_2);  sigmoid_2 = None
        scale = self.scale
        mul = norm * scale;  norm = scale = None
        shift = self.shift
        add = mul + shift;  mul = shift = None
        return {'y': add, 'x': body_2_1}

