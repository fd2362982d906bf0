select id as payment_id, order_id, payment_method, {{ dollars('amount') }} as amount
from {{ source('pay', 'raw_payments') }}
