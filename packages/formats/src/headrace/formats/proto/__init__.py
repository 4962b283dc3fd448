"""Messages of the contract; the modules *_pb2 are generated from the .proto files beside them."""
