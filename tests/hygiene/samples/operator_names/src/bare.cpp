bool loops = node.is("Loop");
