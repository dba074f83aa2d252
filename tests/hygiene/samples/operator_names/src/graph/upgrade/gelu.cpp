bool free = node.is("Gelu");
