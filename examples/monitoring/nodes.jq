# kubectl get nodes -o json | jq -f nodes.jq: targets for file_sd_configs, node exporter on each node.
[.items[] | {
    targets: [(.status.addresses[] | select(.type == "InternalIP").address | if contains(":") then "[" + . + "]" else . end) + ":9100"],
    labels: {node: .metadata.name}
}]
