select id as payment_id, order_id, payment_method, {{ money_utils.cents_to_dollars('amount') }} as amount
from {{ ref('raw_payments') }}
